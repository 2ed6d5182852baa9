// The speed of Hugging Face tokenizers (the Rust library in the npm package
// @anush008/tokenizers), to compare with `troupe bench tokenizer`:
//   TOKENIZERS_PARALLELISM=false node tokenizer_peer.js DIR/tokenizer.json FILE
// Time is that of the processor, over all threads of this process.
const fs = require('fs');
const { Tokenizer } = require('@anush008/tokenizers');

const repeat = 5;

(async () => {
  const tokens = Tokenizer.fromFile(process.argv[2]);
  const text = fs.readFileSync(process.argv[3], 'utf8');
  const bytes = Buffer.byteLength(text);
  const speed = async (work) => {
    const before = process.cpuUsage();
    const out = await work();
    const time = process.cpuUsage(before);
    return [bytes / (time.user + time.system), out];
  };
  const encode = [], decode = [];
  let ids = [];
  for (let i = 0; i <= repeat; ++i) {
    const [fast, encoding] = await speed(
      () => tokens.encode(text, null, { addSpecialTokens: false }));
    ids = encoding.getIds();
    const [back] = await speed(() => tokens.decode(ids, false));
    if (i === 0) continue;
    encode.push(fast);
    decode.push(back);
  }
  const median = (x) => x.sort((a, b) => a - b)[repeat >> 1].toFixed(2);
  console.log(`${bytes} bytes are ${ids.length} tokens; median of ${repeat}: ` +
    `encode ${median(encode)} MB/s, decode ${median(decode)} MB/s`);
})();
