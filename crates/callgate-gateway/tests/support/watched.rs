//! A gateway of which nothing may be left behind when a test is over: no request, connection, task or file.

use std::collections::HashSet;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use callgate_gateway::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, MutexGuard};

use super::{Running, send, serve};

/// Files of the process are counted, so one test runs at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// A server that does as it is told with every connection, after it has read the beginning of a request.
pub(crate) async fn raw<F>(act: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = vec![0; 65536];
            // A client that leaves at once has nothing to be told.
            if stream.read(&mut buffer).await.is_ok_and(|number| number > 0) {
                tokio::spawn(act(stream));
            }
        }
    });
    address
}

/// Waits until the other side is gone.
pub(crate) async fn gone(stream: &mut TcpStream) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).await.is_ok_and(|number| number > 0) {}
}

/// A gateway, and how much there was of everything before it was used.
pub(crate) struct Watched {
    running: Running,
    files: usize,
    tasks: usize,
    _alone: MutexGuard<'static, ()>,
}

/// How many files and connections the process has open. The next test may already wait for its turn: what it has by then, a
/// runtime and sockets that listen, does not count.
fn open_files() -> usize {
    const LISTENS: &str = "0A";
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(std::fs::read_to_string);
    let rows = tables.iter().flatten().flat_map(|table| table.lines()).map(str::split_whitespace);
    let connections: HashSet<&str> = rows
        .filter_map(|mut row| {
            let state = row.nth(3)?;
            row.nth(5).filter(|_| state != LISTENS)
        })
        .collect();
    let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let targets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    let counts = |target: &str| match target.strip_prefix("socket:[") {
        Some(inode) => connections.contains(inode.trim_end_matches(']')),
        None => target.starts_with('/'),
    };
    targets.filter(|target| counts(&target.to_string_lossy())).count()
}

fn alive_tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

pub(crate) async fn watched(settings: Settings) -> Watched {
    let alone = ALONE.lock().await;
    let running = serve(settings).await;
    // What the last test left goes first.
    tokio::time::sleep(Duration::from_millis(50)).await;
    Watched { running, files: open_files(), tasks: alive_tasks(), _alone: alone }
}

impl Watched {
    /// How many files were open before.
    pub(crate) fn files(&self) -> usize {
        self.files
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.running.address
    }

    pub(crate) async fn gauge(&self, name: &str) -> i64 {
        let text = send(self.address(), "GET", "/metrics", &[("connection", "close")], Vec::new()).await.body;
        let line =
            text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// Nothing is left of what was done.
    pub(crate) async fn calm(&self, what: &str) {
        let mut last = String::new();
        // Connections to servers wait for some seconds for a next request.
        for _ in 0..200 {
            let active = self.gauge("callgate_active_requests").await;
            // The connection that asks is one.
            let connections = self.gauge("callgate_connections").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let (files, tasks) = (open_files(), alive_tasks());
            if active == 0 && connections <= 1 && files <= self.files && tasks <= self.tasks {
                return;
            }
            last = format!(
                "{active} requests, {connections} connections, {files} files (before: {}), {tasks} tasks (before: {})",
                self.files, self.tasks
            );
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        panic!("{what}: left behind: {last}");
    }

    /// Sends bytes, and gives back what comes until the server ends the connection.
    pub(crate) async fn bytes(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        // The server may not want all of it.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn head(&self, path: &str, more: &str) -> String {
        format!("POST {path} HTTP/1.1\r\nhost: {}\r\n{more}\r\n", self.address())
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> String {
        format!("{}{body}", self.head(path, &format!("content-length: {}\r\n", body.len())))
    }
}
