// Records what Hugging Face tokenizers (the Rust library, through the npm
// package @anush008/tokenizers 0.6.0) makes of `texts.json` with variants of
// the demo model's tokenizer. Run here: node make_expected.js > expected.json
// The library numbers added tokens itself, so ids here are in its order.
// A variant is a JSON merge patch of models/demo/tokenizer.json.
const fs = require('fs');
const { Tokenizer } = require('@anush008/tokenizers');

const base = JSON.parse(
  fs.readFileSync('../../../models/demo/tokenizer.json', 'utf8'));
const texts = JSON.parse(fs.readFileSync('texts.json', 'utf8'));

const split = (pattern, behavior = 'Isolated', invert = false) =>
  ({ type: 'Split', pattern, behavior, invert });
const regex = (x) => ({ Regex: x });
const bytes = { type: 'ByteLevel', add_prefix_space: false,
  trim_offsets: true, use_regex: false };
const words = (...rules) =>
  ({ pre_tokenizer: { type: 'Sequence', pretokenizers: [...rules, bytes] } });
const added = (id, content, flags) => ({ id, content, single_word: false,
  lstrip: false, rstrip: false, normalized: false, special: true, ...flags });

const cased = "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const template = { type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: '<|im_start|>', type_id: 0 } },
    { Sequence: { id: 'A', type_id: 0 } },
    { SpecialToken: { id: '<|im_end|>', type_id: 0 } }],
  pair: [{ Sequence: { id: 'A', type_id: 0 } },
    { Sequence: { id: 'B', type_id: 1 } }],
  special_tokens: {
    '<|im_start|>': { id: '<|im_start|>', ids: [1], tokens: ['<|im_start|>'] },
    '<|im_end|>': { id: '<|im_end|>', ids: [2], tokens: ['<|im_end|>'] } } };

const variants = {
  demo: {},
  gpt2: { pre_tokenizer: { type: 'ByteLevel', add_prefix_space: true,
    trim_offsets: true, use_regex: true } },
  nfc_cased: { normalizer: { type: 'NFC' }, ...words(split(regex(cased))) },
  nfkd: { normalizer: { type: 'Sequence',
    normalizers: [{ type: 'NFKD' }] } },
  three_splits: words(
    split(regex('\\p{N}{1,3}')),
    split(regex('[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+'
      .replace(/\\u(....)/g, (_, x) => String.fromCharCode(parseInt(x, 16))))),
    split(regex('[\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+|\\s+(?!\\S)|\\s+'))),
  digits: words({ type: 'Digits', individual_digits: true }),
  digit_runs: words({ type: 'Digits', individual_digits: false }),
  removed: words(split({ String: ' ' }, 'Removed')),
  previous: words(split(regex('\\s'), 'MergedWithPrevious')),
  next: words(split(regex('\\s'), 'MergedWithNext')),
  contiguous: words(split(regex('[aeiou ]'), 'Contiguous')),
  inverted: words(split(regex('\\p{L}+'), 'Removed', true)),
  empty_matches: words(split(regex('x*'), 'Isolated')),
  han: words(split(regex('\\p{Han}+|\\p{Latin}+|^.|.$'))),
  ignore_merges: { model: { ignore_merges: true } },
  prefix_each_word: { pre_tokenizer: { type: 'Sequence', pretokenizers: [
    split(regex('\\s+')), { ...bytes, add_prefix_space: true }] } },
  added: { normalizer: { type: 'NFC' }, post_processor: { type: 'Sequence',
      processors: [bytes, template] },
    added_tokens: [...base.added_tokens,
      added(4096, '<left>', { lstrip: true }),
      added(4097, '<right>', { rstrip: true }),
      added(4098, '<both>', { lstrip: true, rstrip: true }),
      added(4099, 'caf\u00e9', { normalized: true, special: false }),
      added(4100, '<le', { special: false }),
      added(4101, '\u00e9 ', { special: false }),
      added(4102, '   ', { special: false, normalized: true }),
      added(base.model.vocab.word, 'word', { single_word: true, special: false })] },
};

const patched = (x, y) => {
  if (y === null || typeof y !== 'object' || Array.isArray(y)) return y;
  const out = x && typeof x === 'object' && !Array.isArray(x) ? { ...x } : {};
  for (const [k, v] of Object.entries(y)) out[k] = patched(out[k], v);
  return out;
};

(async () => {
  const out = [];
  for (const [name, patch] of Object.entries(variants)) {
    const t = Tokenizer.fromString(JSON.stringify(patched(base, patch)));
    const ids = [], decoded = [];
    for (const text of texts) {
      ids.push((await t.encode(text, null, { addSpecialTokens: true })).getIds());
      decoded.push(await t.decode(ids.at(-1), true));
    }
    // Decodings are recorded only where they differ from the text.
    const changed = Object.fromEntries(decoded
      .map((x, i) => [i, x]).filter(([i, x]) => x !== texts[i]));
    out.push({ name, patch, ids, decoded_skip_special: changed });
  }
  console.log('[' + out.map((x) => JSON.stringify(x)).join(',\n') + ']');
})();
