//! The one error type of the engine. `code` is stable, for programs; the message names the thing, the place and the way out.

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// Stable kebab-case code, e.g. `truncated-file`, `unknown-architecture`, `out-of-memory`.
    pub code: &'static str,
    pub message: String,
}

pub type Result<T> = std::result::Result<T, EngineError>;

impl EngineError {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// `bail!("code", "message {}", x)`
#[macro_export]
macro_rules! bail {
    ($code:expr, $($arg:tt)*) => { return Err($crate::error::EngineError::new($code, format!($($arg)*))) };
}
