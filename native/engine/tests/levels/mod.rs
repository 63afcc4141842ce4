//! Runs the test program that includes this once more at each lower instruction set, so that all of them are proved on a
//! machine that has the best.

use hone_engine::simd::level;
use std::process::Command;

fn rerun(wish: &str) {
    let program = std::env::current_exe().unwrap();
    let out = Command::new(&program).args(["--skip", "levels::lower"]).env("HONE_SIMD", wish).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{} fails with HONE_SIMD={wish}:\n{text}", program.display());
    assert!(text.contains("levels::the_wish_is_granted ... ok"), "ran no tests:\n{text}");
}

#[test]
fn lower_avx2() {
    if level().name() == "avx512" {
        rerun("avx2");
    }
}

#[test]
fn lower_scalar() {
    if level().name() != "scalar" {
        rerun("scalar");
    }
}

#[test]
fn the_wish_is_granted() {
    if let Ok(wish) = std::env::var("HONE_SIMD") {
        assert_eq!(level().name(), wish);
    }
}
