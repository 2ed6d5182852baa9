// Records what Hugging Face tokenizers (the Rust library, through the npm
// package @anush008/tokenizers 0.6.0) makes of `texts.json` with variants of
// three tokenizers: the demo model's (byte-level BPE), fallback.json (BPE of
// characters that falls back to bytes; make_fallback.js made it) and
// unigram.json. Run here: node make_expected.js > expected.json
// The library numbers added tokens itself, so ids here are in its order.
// A variant is a JSON merge patch of its base.
const fs = require('fs');
const { Tokenizer } = require('@anush008/tokenizers');

const read = (path) => JSON.parse(fs.readFileSync(path, 'utf8'));
const base = read('../../../models/demo/tokenizer.json');
const fallback = read('fallback.json');
const unigram = read('unigram.json');
const texts = read('texts.json');

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

const demo_variants = {
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
  plain_letters: { normalizer: { type: 'Sequence', normalizers: [
    { type: 'NFD' }, { type: 'Lowercase' }, { type: 'StripAccents' }] } },
  strip: { normalizer: { type: 'Strip', strip_left: true, strip_right: true } },
  strip_right: { normalizer: { type: 'Strip', strip_left: false,
    strip_right: true } },
  replace: { normalizer: { type: 'Sequence', normalizers: [
    { type: 'Replace', pattern: { String: ' ' }, content: '_' },
    { type: 'Sequence', normalizers: [{ type: 'Replace',
      pattern: regex('[aeiou]{2,}'), content: 'V' }] }] } },
  prepend: { normalizer: { type: 'Prepend', prepend: '> ' } },
  nmt: { normalizer: { type: 'Sequence',
    normalizers: [{ type: 'Nmt' }, { type: 'NFKC' }] } },
  whitespace: words({ type: 'Whitespace' }),
  whitespace_split: words({ type: 'WhitespaceSplit' }),
  punctuation: words({ type: 'Punctuation' }),
  punctuation_runs: words({ type: 'Punctuation', behavior: 'Contiguous' }),
  bert: words({ type: 'BertPreTokenizer' }),
  nested: words({ type: 'Sequence', pretokenizers: [
    { type: 'WhitespaceSplit' }, { type: 'Punctuation' }] }),
  roberta: { post_processor: { type: 'RobertaProcessing',
    sep: ['<|im_end|>', 2], cls: ['<|im_start|>', 1], trim_offsets: true,
    add_prefix_space: false } },
  bert_processing: { post_processor: { type: 'BertProcessing',
    sep: ['<|im_end|>', 2], cls: ['<|im_start|>', 1] } },
};

const metaspace = (x) => ({ type: 'Metaspace', replacement: '\u2581', ...x });
const marks = (x) => ({ normalizer: null, pre_tokenizer: metaspace(x),
  decoder: metaspace(x) });
const decoders = (...list) =>
  ({ decoder: { type: 'Sequence', decoders: list } });
const spaces = { type: 'Replace', pattern: { String: '\u2581' }, content: ' ' };
const strip = (content, start, stop) =>
  ({ type: 'Strip', content, start, stop });

const fallback_variants = {
  fallback: {},
  marks_first: marks({ prepend_scheme: 'first' }),
  marks_always: marks({ prepend_scheme: 'always' }),
  marks_never: marks({ prepend_scheme: 'never' }),
  marks_whole: marks({ prepend_scheme: 'first', split: false }),
  marks_legacy: marks({ add_prefix_space: true }),
  marks_of_words: { normalizer: null, pre_tokenizer: { type: 'Sequence',
    pretokenizers: [{ type: 'WhitespaceSplit' },
      { type: 'Digits', individual_digits: true },
      metaspace({ prepend_scheme: 'first' })] } },
  unknown: { model: { byte_fallback: false } },
  each_unknown: { model: { byte_fallback: false, fuse_unk: false } },
  some_bytes: { model: { vocab: { '<0xF0>': null, '<0xE4>': null } } },
  some_bytes_each: { model: { fuse_unk: false,
    vocab: { '<0xF0>': null, '<0xE4>': null } } },
  whole_words: { ...marks({ prepend_scheme: 'always' }),
    model: { ignore_merges: true } },
  whole_text: { model: { ignore_merges: true } },
  late_marks: decoders({ type: 'ByteFallback' },
    metaspace({ prepend_scheme: 'first' })),
  late_strip: decoders({ type: 'ByteFallback' }, strip('\u2581', 1, 0), spaces),
  early_strip: decoders(strip('\u2581', 1, 0), spaces, { type: 'Fuse' }),
  decode_regex: decoders({ type: 'Replace', pattern: regex('[a-m]|\u2581'),
    content: '.' }, { type: 'ByteFallback' }, { type: 'Fuse' },
    strip('.', 2, 0)),
  fallback_added: { added_tokens: [...fallback.added_tokens,
    added(1528, '<left>', { lstrip: true }),
    added(1529, '<right>', { rstrip: true }),
    added(1530, 'caf\u00e9', { normalized: true, special: false })] },
};

const byte_tokens = Array.from({ length: 256 }, (_, x) =>
  [`<0x${x.toString(16).toUpperCase().padStart(2, '0')}>`, -20]);
const unigram_variants = {
  unigram: {},
  unigram_first: { ...marks({ prepend_scheme: 'first' }) },
  unigram_never: { ...marks({ prepend_scheme: 'never' }) },
  unigram_whole: { ...marks({ prepend_scheme: 'always', split: false }) },
  unigram_bytes: { model: { byte_fallback: true,
    vocab: [...unigram.model.vocab.slice(0, 300), ...byte_tokens] },
    ...decoders({ type: 'ByteFallback' }, metaspace({})) },
};

const patched = (x, y) => {
  if (y === null || typeof y !== 'object' || Array.isArray(y)) return y;
  const out = x && typeof x === 'object' && !Array.isArray(x) ? { ...x } : {};
  for (const [k, v] of Object.entries(y)) {
    if (v === null) delete out[k];
    else out[k] = patched(out[k], v);
  }
  return out;
};

// Decodings are recorded only where they differ from what they are `like`.
const changes = (list, like) => Object.fromEntries(list
  .map((x, i) => [i, x]).filter(([i, x]) => x !== like[i]));

const record = async (name, from, patch) => {
  const file = patched(from[1], patch);
  for (const key of ['normalizer', 'pre_tokenizer']) file[key] ??= null;
  const t = Tokenizer.fromString(JSON.stringify(file));
  const ids = [], skipped = [], decoded = [];
  for (const text of texts) {
    ids.push((await t.encode(text, null, { addSpecialTokens: true })).getIds());
    skipped.push(await t.decode(ids.at(-1), true));
    decoded.push(await t.decode(ids.at(-1), false));
  }
  return { name, base: from[0], patch, ids,
    decoded_skip_special: changes(skipped, texts),
    decoded: changes(decoded, skipped) };
};

(async () => {
  const out = [];
  for (const [from, variants] of [
    [['demo', base], demo_variants],
    [['fallback.json', fallback], fallback_variants],
    [['unigram.json', unigram], unigram_variants]])
    for (const [name, patch] of Object.entries(variants))
      out.push(await record(name, from, patch));
  console.log('[' + out.map((x) => JSON.stringify(x)).join(',\n') + ']');
})();
