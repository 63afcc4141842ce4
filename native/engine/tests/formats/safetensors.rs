//! Safetensors files: damaged ones are refused, written ones come back.

use std::path::Path;

use hone_engine::error::Result;
use hone_engine::formats::{read_safetensors, write_safetensors, Bytes, Dtype, SafetensorsFile, TensorOut};

use crate::support::{assert_refused, f32_bytes, safetensors, shared, Folder};

fn parse(bytes: Vec<u8>) -> Result<SafetensorsFile> {
    SafetensorsFile::parse(Bytes::from(bytes), Path::new("w.safetensors"))
}

fn entry(name: &str, shape: &str, start: u64, end: u64) -> String {
    format!(r#""{name}":{{"dtype":"F32","shape":{shape},"data_offsets":[{start},{end}]}}"#)
}

#[test]
fn a_plain_file_is_read() {
    let header =
        format!(r#"{{"__metadata__":{{"format":"pt"}},{},{}}}"#, entry("b", "[2]", 0, 8), entry("a", "[1,1]", 8, 12));
    let file = parse(safetensors(&header, &f32_bytes(&[1.0, 2.0, 3.0]))).unwrap();
    assert_eq!(file.names().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(file.metadata()["format"], "pt");
    assert_eq!(file.tensor("b").unwrap().to_f32().unwrap(), [1.0, 2.0]);
    assert_eq!(file.tensor("a").unwrap().shape, [1, 1]);
    assert_refused(file.tensor("c"), "missing-tensor", &["w.safetensors", "c"]);
    assert!(parse(safetensors("{}", &[])).is_ok());
    assert!(parse(safetensors(r#"{"__metadata__":null}"#, &[])).is_ok());
}

#[test]
fn types_we_do_not_compute_with_are_named() {
    let header = r#"{"i":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},
        "f":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[16,20]},"n":{"dtype":"Q9","shape":[4],"data_offsets":[20,23]}}"#;
    let mut data: Vec<u8> = [5i64, -1].iter().flat_map(|x| x.to_le_bytes()).collect();
    data.extend([0; 7]);
    let file = parse(safetensors(header, &data)).unwrap();
    assert_eq!(file.read_i64("i").unwrap(), [5, -1]);
    assert_refused(file.tensor("f"), "unsupported-dtype", &["tensor f", "F8_E4M3", "BF16"]);
    assert_refused(file.tensor("n"), "unsupported-dtype", &["Q9"]);
    assert_refused(file.read_i64("f"), "unsupported-dtype", &["I64"]);
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let header = format!("{{{},{}}}", entry("a", "[2,2]", 0, 16), entry("b", "[3]", 16, 28));
    let whole = safetensors(&header, &[0; 28]);
    for len in 0..whole.len() {
        assert_refused(parse(whole[..len].to_vec()), "truncated-file", &["w.safetensors"]);
    }
    let mut longer = whole;
    longer.push(0);
    assert_refused(parse(longer), "oversized-file", &["w.safetensors", "1 bytes"]);
}

#[test]
fn lengths_that_cannot_be_are_refused_before_memory_is_taken() {
    for len in [100_000_001u64, 1 << 40, u64::MAX - 7, u64::MAX] {
        let mut file = len.to_le_bytes().to_vec();
        file.extend(b"{}");
        assert_refused(parse(file), "bad-header", &["not a safetensors file"]);
    }
    let mut file = 99_999_999u64.to_le_bytes().to_vec();
    file.extend(b"{}");
    assert_refused(parse(file), "truncated-file", &["header"]);
    let refused = |shape: &str, start: u64, end: u64, code: &str| {
        assert_refused(
            parse(safetensors(&format!("{{{}}}", entry("t.x", shape, start, end)), &[0; 16])),
            code,
            &["t.x"],
        );
    };
    refused("[4]", 0, u64::MAX, "truncated-file");
    refused("[4]", 0, 17, "truncated-file");
    refused("[4]", u64::MAX, 16, "bad-header");
    refused("[4]", 16, 0, "bad-header");
    refused("[4294967296,4294967296]", 0, 16, "wrong-shape");
    refused("[18446744073709551615]", 0, 16, "wrong-shape");
    refused("[4611686018427387905]", 0, 16, "wrong-shape"); // times 4 bytes is 4 more than 2^64
    refused("[5]", 0, 16, "wrong-shape");
    refused("[2,1]", 0, 16, "wrong-shape");
    refused("[]", 0, 16, "wrong-shape");
    refused("[1,1,1,1,1,1,1,1,4]", 0, 16, "wrong-shape");
    refused(&format!("[{}4]", "1,".repeat(100_000)), 0, 16, "wrong-shape");
    refused("[-4]", 0, 16, "bad-header");
    refused("[4.0]", 0, 16, "bad-header");
    refused("[1e30]", 0, 16, "bad-header");
}

#[test]
fn damaged_tables_are_refused_by_name() {
    let file = |header: String| parse(safetensors(&header, &[0; 16]));
    let two = |a: (u64, u64), b: (u64, u64)| {
        let shape = |r: (u64, u64)| format!("[{}]", (r.1 - r.0) / 4);
        file(format!("{{{},{}}}", entry("t.x", &shape(a), a.0, a.1), entry("t.y", &shape(b), b.0, b.1)))
    };
    assert!(two((0, 8), (8, 16)).is_ok());
    assert!(two((0, 0), (0, 16)).is_ok());
    assert_refused(two((0, 8), (4, 16)), "overlapping-tensors", &["t.x", "t.y"]);
    assert_refused(two((0, 16), (0, 16)), "overlapping-tensors", &["t.x", "t.y"]);
    assert_refused(two((0, 16), (4, 8)), "overlapping-tensors", &["t.x", "t.y"]);
    assert_refused(two((4, 8), (8, 16)), "bad-header", &["4 unclaimed bytes", "t.x"]);
    assert_refused(two((0, 4), (8, 16)), "bad-header", &["t.y"]);
    assert_refused(two((0, 4), (4, 12)), "oversized-file", &["4 bytes"]);
    let twice = format!("{{{},{}}}", entry("t.x", "[4]", 0, 16), entry("t.x", "[4]", 0, 16));
    assert_refused(file(twice), "duplicate-tensor", &["t.x"]);

    for header in [
        "[]",
        "null",
        "{",
        "{\"t\":{}}",
        "{\"t\":[]}",
        "{\"t\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0]}}",
        "{\"t\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16,16]}}",
        "{\"t\":{\"dtype\":4,\"shape\":[4],\"data_offsets\":[0,16]}}",
        "{\"__metadata__\":{\"a\":1}}",
        "{} {}",
    ] {
        assert_refused(file(header.into()), "bad-header", &["w.safetensors"]);
    }
    assert_refused(file("[".repeat(100_000)), "bad-header", &[]);
    assert_refused(file(format!("{{\"t\":{}", "{\"a\":".repeat(100_000))), "bad-header", &[]);
    assert_refused(file(format!("{{\"{}\":1}}", "n".repeat(100_000))), "bad-header", &["nnn"]);
}

#[test]
fn places_that_are_not_files_are_said() {
    let folder = Folder::new();
    assert_refused(
        SafetensorsFile::open(&folder.path().join("none.safetensors")),
        "file-not-found",
        &["none.safetensors"],
    );
    assert_refused(SafetensorsFile::open(folder.path()), "not-a-file", &[]);
    assert_refused(SafetensorsFile::open(&folder.put("empty.safetensors", "")), "truncated-file", &["0 bytes"]);
    #[cfg(unix)]
    assert_refused(SafetensorsFile::open(Path::new("/dev/zero")), "not-a-file", &["/dev/zero"]);
}

#[test]
fn written_tensors_come_back() {
    let folder = Folder::new();
    let path = folder.path().join("out.safetensors");
    let values: Vec<f32> = (0..1000).map(|i| (i as f32 - 500.0) / 7.0).collect();
    let exact = [0.5f32, -2.0, 0.0, 384.0];
    let out = |name, shape, data, dtype| TensorOut { name, shape, data, dtype };
    let tensors = [
        out("z.quote\"\\é", &[10, 100][..], &values[..], Dtype::F32),
        out("b", &[4][..], &exact[..], Dtype::BF16),
        out("a", &[2, 2][..], &exact[..], Dtype::F16),
        out("none", &[0, 3][..], &[][..], Dtype::F32),
        out("scalar", &[][..], &exact[..1], Dtype::F32),
    ];
    write_safetensors(&path, &tensors, &[("step", "12")]).unwrap();
    let views = read_safetensors(&path).unwrap();
    assert_eq!(views.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["a", "b", "none", "scalar", "z.quote\"\\é"]);
    for view in &views {
        let source = tensors.iter().find(|t| t.name == view.name).unwrap();
        assert_eq!((view.dtype, view.shape.as_slice()), (source.dtype, source.shape));
        assert_eq!(view.to_f32().unwrap(), source.data, "{}", view.name);
    }
    let file = SafetensorsFile::open(&path).unwrap();
    assert_eq!((file.metadata()["format"].as_str(), file.metadata()["step"].as_str()), ("pt", "12"));

    // The same bytes whatever the order given; the data begins at a multiple of 8, and nothing else is left behind.
    let first = std::fs::read(&path).unwrap();
    let mut reversed: Vec<TensorOut> = tensors.into_iter().collect();
    reversed.reverse();
    write_safetensors(&path, &reversed, &[("step", "12")]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), first);
    assert_eq!(u64::from_le_bytes(first[..8].try_into().unwrap()) % 8, 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_golden_adapter_is_written_and_read_back() {
    let Some(path) = shared("goldens/llama-tiny/lora/adapter_model.safetensors") else { return };
    let folder = Folder::new();
    let copy = folder.path().join("adapter_model.safetensors");
    let views = read_safetensors(&path).unwrap();
    let values: Vec<Vec<f32>> = views.iter().map(|v| v.to_f32().unwrap()).collect();
    let tensors: Vec<TensorOut> = views
        .iter()
        .zip(&values)
        .map(|(v, data)| TensorOut { name: &v.name, shape: &v.shape, data, dtype: Dtype::F32 })
        .collect();
    write_safetensors(&copy, &tensors, &[]).unwrap();
    let again = read_safetensors(&copy).unwrap();
    assert_eq!(again.len(), 28);
    for (a, b) in views.iter().zip(&again) {
        assert_eq!((&a.name, &a.shape, &a.bytes[..]), (&b.name, &b.shape, &b.bytes[..]));
    }
}

#[test]
fn a_failed_write_changes_nothing() {
    let folder = Folder::new();
    let path = folder.put("out.safetensors", "old");
    let out = |name, shape, data, dtype| TensorOut { name, shape, data, dtype };
    let refused = |tensors: &[TensorOut], code: &str, mentions: &[&str]| {
        assert_refused(write_safetensors(&path, tensors, &[]), code, mentions);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");
    };
    refused(&[out("t.x", &[3], &[1.0], Dtype::F32)], "bad-tensor", &["t.x", "[3]"]);
    refused(&[out("t.x", &[usize::MAX, 3], &[1.0], Dtype::F32)], "bad-tensor", &["t.x"]);
    refused(&[out("t.x", &[1], &[1.0], Dtype::Q4_0)], "bad-tensor", &["t.x", "Q4_0"]);
    refused(&[out("__metadata__", &[1], &[1.0], Dtype::F32)], "bad-tensor", &["__metadata__"]);
    refused(&[out("t", &[1], &[1.0], Dtype::F32), out("t", &[1], &[1.0], Dtype::F32)], "duplicate-tensor", &["t"]);
    refused(&[out("t.x", &[2], &[1.0, 1e6], Dtype::F16)], "bad-tensor", &["t.x", "1000000", "BF16"]);
    let nowhere = folder.path().join("no/such/folder/out.safetensors");
    assert_refused(write_safetensors(&nowhere, &[], &[]), "file-not-found", &["no/such/folder"]);
}
