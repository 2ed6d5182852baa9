// Makes `fallback.json`, a small relative of a Llama-style tokenizer (BPE of
// characters with a fall-back to bytes), from a whole one:
//   node make_fallback.js llama/tokenizer.json > fallback.json
// It keeps the characters of ASCII and a few others, and the first 1500
// merges that are made of them; ids are counted anew.
const fs = require('fs');
const whole = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const merges_max = 1500;

const kept = new Map();
const keep = (token) => { if (!kept.has(token)) kept.set(token, kept.size); };
for (const x of whole.added_tokens) keep(x.content);
for (let byte = 0; byte < 256; ++byte)
  keep(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
for (const token of Object.keys(whole.model.vocab)) {
  const letters = [...token];
  if (letters.length === 1 &&
      (token < '\u007f' || '\u2581éèüöäñçПривет你好世界の'.includes(token)))
    keep(token);
}
const merges = [];
for (const merge of whole.model.merges) {
  const [left, right] = Array.isArray(merge) ? merge : merge.split(' ');
  if (merges.length === merges_max) break;
  if (!kept.has(left) || !kept.has(right)) continue;
  keep(left + right);
  merges.push([left, right]);
}
whole.model.vocab = Object.fromEntries(kept);
whole.model.merges = merges;
console.log(JSON.stringify(whole));
