//! A peer: LiteLLM's proxy on the same server, if it is installed. `LITELLM` names its command where it is not on the path.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use super::Failure;
use super::client::{Load, load};
use super::process::Process;

/// How long it may take to start: it reads a lot of Python.
const START: Duration = Duration::from_secs(120);

/// Starts the proxy in front of a server, and waits until it answers.
pub(crate) async fn start(server: SocketAddr) -> Result<Process, Failure> {
    let command = std::env::var("LITELLM").unwrap_or_else(|_| "litellm".to_owned());
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("load");
    std::fs::create_dir_all(&folder)?;
    let settings = folder.join("litellm.yaml");
    std::fs::write(
        &settings,
        format!(
            "model_list:\n  - model_name: m\n    litellm_params: {{model: openai/m, api_base: \"http://{server}/v1\", api_key: none}}\n"
        ),
    )?;
    // Nobody else has a port that was free just now.
    let address = tokio::net::TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
    let port = address.port().to_string();
    let log = std::fs::File::create(folder.join("litellm.log"))?;
    let child = Command::new(&command)
        .arg("--config")
        .arg(&settings)
        .args(["--host", "127.0.0.1", "--port", &port, "--telemetry", "False"])
        // It is reached from this machine only.
        .env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true")
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .map_err(|error| format!("`{command}` does not start ({error}); LITELLM names another command"))?;
    let mut proxy = Process::at(address, child);
    let until = Instant::now() + START;
    while Instant::now() < until && !proxy.has_ended() {
        if TcpStream::connect(address).await.is_ok() {
            load(address, Load::AtOnce(1), 1).await?;
            return Ok(proxy);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Err(format!("`{command}` did not begin to listen; its output is in {}", folder.display()).into())
}
