//! Cancellation: a switch that one side throws and any number of tasks wait for.

use tokio::sync::watch;

/// A switch that can be thrown once; all copies see it.
#[derive(Clone, Debug)]
pub struct Cancel {
    switch: watch::Sender<bool>,
}

impl Default for Cancel {
    fn default() -> Self {
        Cancel { switch: watch::Sender::new(false) }
    }
}

impl Cancel {
    /// A switch that has not been thrown.
    pub fn new() -> Self {
        Cancel::default()
    }

    /// Throws it.
    pub fn cancel(&self) {
        self.switch.send_replace(true);
    }

    /// Whether it has been thrown.
    pub fn is_cancelled(&self) -> bool {
        *self.switch.borrow()
    }

    /// Waits until it is thrown.
    pub async fn cancelled(&self) {
        let mut seen = self.switch.subscribe();
        // The sender is held by `self`, so the wait can only end because the switch was thrown.
        let _ = seen.wait_for(|thrown| *thrown).await;
    }
}
