//! Random damage to small valid files, through every reader: an answer or an error, never a panic, never much memory.
//!
//! The short run is part of every test run. The long one: `HONE_FUZZ_ITERATIONS=5000000 cargo test -p hone-engine
//! --release --test formats_fuzz -- --ignored fuzz_long` (default one million; `HONE_FUZZ_SEED` chooses another sequence).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

use hone_engine::error::Result;
use hone_engine::formats::{check_finite, Bytes, Checkpoint, GgufFile, SafetensorsFile};

#[path = "../formats/support.rs"]
mod support;
use support::{f32_bytes, fixture, gguf_array, gguf_text, safetensors, Folder, Gguf};

/// Counts this thread's live and peak bytes.
struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
    // The cells are gone while a thread ends; what happens then is not measured.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: hands everything to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Peak bytes taken by `work` beyond what was live before.
fn peak_of(work: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    work();
    (PEAK.get() - before) as usize
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Spoils a few places: bits, bytes, lengths, whole stretches. Most damage goes to the header, where decisions are made.
fn mutate(bytes: &mut Vec<u8>, header: usize, random: &mut Random) {
    const SPECIAL: [u64; 12] =
        [0, 1, 7, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, i64::MAX as u64, u64::MAX - 7, u64::MAX];
    for _ in 0..[1, 1, 1, 2, 4][random.below(5)] {
        if bytes.is_empty() {
            return;
        }
        let reach = if random.below(8) == 0 { bytes.len() } else { header.min(bytes.len()) };
        let at = random.below(reach);
        let width = (1 << random.below(4)).min(bytes.len() - at);
        match random.below(12) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 | 3 => {
                let value = SPECIAL[random.below(SPECIAL.len())].to_le_bytes();
                bytes[at..at + width].copy_from_slice(&value[..width]);
            }
            4 => {
                // A small step up or down: off by one, off by a block.
                let step = random.below(65) as u8;
                bytes[at] = bytes[at].wrapping_add(step).wrapping_sub(32);
            }
            5 => bytes.truncate(random.below(bytes.len() + 1)),
            6 => {
                let end = (at + random.below(64)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(reach);
                bytes.splice(to..to, piece);
            }
            7 => {
                let end = (at + random.below(64)).min(bytes.len());
                bytes.drain(at..end);
            }
            8 => {
                // Digits and JSON punctuation reach further into a text header than random bytes do.
                let text = b"0123456789-.eE,:[]{}\"\\u";
                bytes[at] = text[random.below(text.len())];
            }
            _ => {
                // Another number, still well-formed.
                if let Some(digit) = bytes[at..reach].iter_mut().find(|b| b.is_ascii_digit()) {
                    *digit = b'0' + random.below(10) as u8;
                }
            }
        }
    }
}

/// A valid file, how much of it is header, and a reader.
struct Target {
    name: &'static str,
    bytes: Vec<u8>,
    header: usize,
    read: fn(Vec<u8>, &Folder) -> Result<()>,
}

fn read_gguf(bytes: Vec<u8>, _: &Folder) -> Result<()> {
    let file = GgufFile::parse(Bytes::from(bytes), Path::new("fuzz.gguf"))?;
    file.metadata_json()?;
    for name in file.names() {
        let _ = file.tensor(name).and_then(|t| t.to_f32());
    }
    Ok(())
}

fn read_safetensors(bytes: Vec<u8>, _: &Folder) -> Result<()> {
    let file = SafetensorsFile::parse(Bytes::from(bytes), Path::new("fuzz.safetensors"))?;
    for name in file.names() {
        let _ = file.read_i64(name);
        let _ = file.tensor(name).and_then(|t| check_finite(&t));
    }
    Ok(())
}

fn open_all(path: &Path) -> Result<()> {
    let checkpoint = Checkpoint::open(path)?;
    for name in checkpoint.names() {
        let _ = checkpoint.tensor(&name).and_then(|t| t.to_f32());
    }
    Ok(())
}

fn open_gguf(bytes: Vec<u8>, folder: &Folder) -> Result<()> {
    open_all(&folder.put("fuzz.gguf", bytes))
}

fn open_config(bytes: Vec<u8>, folder: &Folder) -> Result<()> {
    folder.put("config.json", bytes);
    open_all(folder.path())
}

fn open_index(bytes: Vec<u8>, folder: &Folder) -> Result<()> {
    let weights = folder.path().join("model.safetensors");
    let _ = std::fs::rename(weights, folder.path().join("shard.safetensors"));
    folder.put("config.json", std::fs::read(fixture("configs/llama-tiny.json")).unwrap());
    folder.put("model.safetensors.index.json", bytes);
    open_all(folder.path())
}

fn targets() -> Vec<Target> {
    let nested = [gguf_array(4, 1, &7u32.to_le_bytes()), gguf_array(8, 1, &gguf_text(b"a"))].concat();
    let small = Gguf::new()
        .text("general.architecture", "llama")
        .u32("general.alignment", 32)
        .u32("split.count", 1)
        .raw("nested", 9, gguf_array(9, 2, &nested))
        .raw("tokens", 9, gguf_array(8, 3, &[gguf_text(b"a"), gguf_text(b"bc"), gguf_text(b"")].concat()))
        .tensor("a", &[32, 2], 8, vec![0x11; 68])
        .tensor("b", &[4, 2], 0, f32_bytes(&[1.0; 8]))
        .tensor("c", &[256], 14, vec![0x11; 210])
        .build();
    let header = r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"#
        .to_string()
        + r#""b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]},"c":{"dtype":"I64","shape":[1],"data_offsets":[32,40]}}"#;
    let target = |name, bytes: Vec<u8>, header, read| Target { name, bytes, header, read };
    let index = r#"{"metadata":{"total_size":4},"weight_map":{"model.norm.weight":"shard.safetensors"}}"#;
    let whole = |name: &str| std::fs::read(fixture(name)).unwrap();
    let config = |name: &str| whole(&format!("configs/{name}.json"));
    vec![
        target("gguf", small.clone(), small.len() - 448, read_gguf),
        target("safetensors", safetensors(&header, &[1; 40]), 8 + header.len(), read_safetensors),
        target("gguf model", whole("gguf/llama-scaled.gguf"), 2600, open_gguf),
        target("gemma gguf model", whole("gguf/gemma3.gguf"), 4200, open_gguf),
        target("config", config("gemma3-tiny.v5"), usize::MAX, open_config),
        target("config", config("llama-rope-scaled"), usize::MAX, open_config),
        target("index", index.into(), usize::MAX, open_index),
    ]
}

/// Far above what any reader needs (the most: the tensor names of a model of a thousand layers); a length believed
/// would be gigabytes.
fn memory_bound(len: usize) -> usize {
    100 * len + (4 << 20)
}

fn fuzz(iterations: usize, seed: u64) {
    let mut random = Random(seed);
    for target in targets() {
        let folder = Folder::new();
        folder.put("model.safetensors", safetensors("{}", &[]));
        if target.name.contains("gguf") {
            (target.read)(target.bytes.clone(), &folder).unwrap_or_else(|e| panic!("{}: {e}", target.name));
        }
        // Files on disk are slower than bytes in memory.
        let share = if target.name == "gguf" || target.name == "safetensors" { 16 } else { 1 };
        let (mut accepted, mut codes) = (0, std::collections::BTreeMap::<&str, usize>::new());
        for _ in 0..iterations * share {
            let mut bytes = target.bytes.clone();
            let state = random.0;
            mutate(&mut bytes, target.header, &mut random);
            let len = bytes.len();
            let copy = bytes.clone();
            let mut outcome = None;
            let peak = peak_of(|| outcome = Some(catch_unwind(AssertUnwindSafe(|| (target.read)(bytes, &folder)))));
            let report = |what: &str| {
                let kept = std::env::temp_dir().join("hone-fuzz-failure.bin");
                std::fs::write(&kept, &copy).unwrap();
                panic!("{} (random state {state:#x}) {what}; the file is at {}", target.name, kept.display());
            };
            match outcome.unwrap() {
                Ok(Ok(())) => accepted += 1,
                Ok(Err(e)) => {
                    *codes.entry(e.code).or_default() += 1;
                    if e.message.len() > 2000 {
                        report(&format!("made a message of {} bytes", e.message.len()));
                    }
                }
                Err(_) => report("panicked"),
            }
            if peak > memory_bound(len) {
                report(&format!("took {peak} bytes for a file of {len}"));
            }
        }
        eprintln!("{}: {} mutants, {accepted} accepted, {codes:?}", target.name, iterations * share);
        assert!(codes.len() > 2, "the mutants of {} all fail alike: {codes:?}", target.name);
    }
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {v}")))
}

#[test]
fn fuzz_short() {
    fuzz(500, 1);
}

#[test]
#[ignore = "minutes; see the head of this file"]
fn fuzz_long() {
    // 37 files are tried per round, see `share`.
    fuzz(from_environment("HONE_FUZZ_ITERATIONS", 1_000_000) as usize / 37, from_environment("HONE_FUZZ_SEED", 2));
}

/// The bound above would notice: a reader that believed a length would take it.
#[test]
fn the_allocator_counts() {
    let peak = peak_of(|| drop(std::hint::black_box(vec![0u8; 5_000_000])));
    assert!((5_000_000..5_100_000).contains(&peak), "{peak}");
}

/// Dense but valid headers: memory stays a small multiple of the file.
#[test]
fn many_tiny_entries_take_little_memory() {
    let entries: Vec<String> =
        (0..50_000).map(|i| format!(r#""{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#)).collect();
    let file = safetensors(&format!("{{{}}}", entries.join(",")), &[]);
    let len = file.len();
    let peak = peak_of(|| assert_eq!(read_safetensors(file, &Folder::new()).err().map(|e| e.code), None));
    assert!(peak < 12 * len, "{peak} bytes for {len}");

    let mut file = Gguf::new();
    for i in 0..20_000u32 {
        file = file.u32(&i.to_string(), i);
    }
    for i in 0..20_000 {
        file = file.tensor(&i.to_string(), &[0], 0, Vec::new());
    }
    let bytes = file.build();
    let len = bytes.len();
    let peak = peak_of(|| drop(GgufFile::parse(Bytes::from(bytes), Path::new("m.gguf")).unwrap()));
    assert!(peak < 12 * len, "{peak} bytes for {len}");

    let empties = gguf_array(4, 0, &[]).repeat(100_000);
    let bytes = Gguf::new().raw("a", 9, gguf_array(9, 100_000, &empties)).build();
    let len = bytes.len();
    let peak = peak_of(|| drop(read_gguf(bytes, &Folder::new())));
    assert!(peak < 12 * len, "{peak} bytes for {len}");
}
