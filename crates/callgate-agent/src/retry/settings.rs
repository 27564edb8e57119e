//! How often, how soon and with which words a rejected response is asked for again.

use std::time::Duration;

use callgate::Profile;
use serde::Serialize;

/// How the wait grows from one time to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    /// It doubles.
    #[default]
    Exponential,
    /// It grows by the first wait.
    Linear,
    /// It stays.
    Constant,
}

/// The budget and the manner of asking again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// How often the model is asked again; the first response does not count.
    pub max_attempts: u32,
    /// The wait before the first time.
    pub delay: Duration,
    /// The longest wait.
    pub max_delay: Duration,
    /// How the wait grows.
    pub backoff: Backoff,
    /// The message per rejected call, with placeholders; without it the profile's own words.
    pub template: Option<String>,
    /// Whether an exact repetition ends the attempts.
    pub stop_when_repeated: bool,
}

impl Default for RetrySettings {
    fn default() -> Self {
        RetrySettings {
            max_attempts: 2,
            delay: Duration::from_millis(100),
            max_delay: Duration::from_secs(60),
            backoff: Backoff::Exponential,
            template: None,
            stop_when_repeated: true,
        }
    }
}

impl RetrySettings {
    /// As the system of this profile asks again.
    pub fn of(profile: &Profile) -> Self {
        RetrySettings {
            max_attempts: profile.retries(),
            stop_when_repeated: profile.stops_when_repeated(),
            ..RetrySettings::default()
        }
    }

    /// The wait before this time, counted from one.
    pub fn wait(&self, attempt: u32) -> Duration {
        let factor = match self.backoff {
            Backoff::Exponential => 1u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX),
            Backoff::Linear => attempt,
            Backoff::Constant => 1,
        };
        self.delay.saturating_mul(factor).min(self.max_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_as_named_and_stop_at_the_cap() {
        let waits = |backoff, attempts: &[u32]| -> Vec<u128> {
            let settings =
                RetrySettings { backoff, max_delay: Duration::from_millis(500), ..Default::default() };
            attempts.iter().map(|attempt| settings.wait(*attempt).as_millis()).collect()
        };
        assert_eq!(waits(Backoff::Exponential, &[1, 2, 3, 4, 40, u32::MAX]), [100, 200, 400, 500, 500, 500]);
        assert_eq!(waits(Backoff::Linear, &[1, 2, 3, 4, 5, 6]), [100, 200, 300, 400, 500, 500]);
        assert_eq!(waits(Backoff::Constant, &[1, 2, 9]), [100, 100, 100]);
    }
}
