//! What the gateway adds: streams of 200 tokens straight from a scripted server, through the gateway, and through another
//! gateway if one is there, in one run.
//!
//! `cargo bench -p callgate-gateway --bench load [-- REQUESTS] [--soak SECONDS] [--rate PER_SECOND]`
//!
//! The scripted server and each gateway are processes of their own, so that what each of them costs can be told apart:
//! they share the cores with each other and with the client that is this process.

mod client;
mod peer;
mod process;
mod roles;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use client::{Load, Measured};
use process::Process;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How many requests a row has without being told.
const REQUESTS: usize = 2000;

/// How often memory is looked at.
const SOAKED: Duration = Duration::from_secs(10);

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).cloned()
    };
    // As many threads as the command `callgate serve` has.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let Some(role) = after("--be") {
        return runtime.block_on(roles::be(&role, after("--upstream")));
    }
    let soak = after("--soak").map(|text| text.parse()).transpose()?;
    let rate = after("--rate").map(|text| text.parse()).transpose()?;
    // Cargo says `--bench` besides.
    let number = arguments.iter().position(|argument| !argument.starts_with("--"));
    let number = number.filter(|at| *at == 0 || arguments[at - 1] == "--bench");
    let requests = number.map_or(Ok(REQUESTS), |at| arguments[at].parse())?;
    runtime.block_on(async {
        match soak {
            Some(seconds) => soaked(Duration::from_secs(seconds), rate.unwrap_or(100)).await,
            None => compared(requests, rate).await,
        }
    })
}

/// Whom the requests go to.
struct Way {
    name: &'static str,
    address: SocketAddr,
    /// The process between client and server, if there is one.
    between: Option<Process>,
}

/// The ways, side by side under each load.
async fn compared(requests: usize, rate: Option<usize>) -> Result<(), Failure> {
    let server = Process::start(&["--be", "scripted"])?;
    let gateway = Process::start(&["--be", "gateway", "--upstream", &server.address.to_string()])?;
    let mut ways = vec![
        Way { name: "direct", address: server.address, between: None },
        Way { name: "callgate", address: gateway.address, between: Some(gateway) },
    ];
    match peer::start(server.address).await {
        Ok(peer) => ways.push(Way { name: "litellm", address: peer.address, between: Some(peer) }),
        Err(why) => eprintln!("LiteLLM's proxy is left out: {why}"),
    }
    for way in &ways {
        // The first requests open what later ones use again, and compile what is compiled once.
        client::load(way.address, Load::AtOnce(8), requests.min(200)).await?;
    }
    println!(
        "| load | way | requests/s | first byte p50 | p99 | end p50 | p99 | CPU per request between | of the server | of the client |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let loads = match rate {
        Some(rate) => vec![Load::PerSecond(rate)],
        None => vec![
            Load::AtOnce(1),
            Load::AtOnce(64),
            Load::AtOnce(512),
            Load::PerSecond(100),
            Load::PerSecond(250),
            Load::PerSecond(500),
            Load::PerSecond(1000),
        ],
    };
    for load in loads {
        for way in &ways {
            // What takes long is asked less often.
            let number = match (load, way.name) {
                (Load::AtOnce(1), _) => requests / 4,
                (_, "litellm") => requests / 4,
                _ => requests,
            };
            let before = spent(way, &server);
            let measured = client::load(way.address, load, number.max(load.least())).await?;
            let after = spent(way, &server);
            let each = std::array::from_fn(|at| {
                let spent = after[at]?.checked_sub(before[at]?)?;
                spent.checked_div(u32::try_from(measured.number).ok()?)
            });
            row(load, way.name, &measured, each);
        }
    }
    Ok(())
}

/// The CPU time of whoever stands between, of the server and of the client, so far.
fn spent(way: &Way, server: &Process) -> [Option<Duration>; 3] {
    let client = process::cpu_time(std::process::id());
    [way.between.as_ref().and_then(Process::cpu_time), server.cpu_time(), client]
}

fn row(load: Load, name: &str, measured: &Measured, spent: [Option<Duration>; 3]) {
    let [between, server, client] = spent.map(|time| time.map_or_else(|| "–".to_owned(), shown));
    println!(
        "| {load} | {name} | {:.0} | {} | {} | {} | {} | {between} | {server} | {client} |",
        measured.rate,
        shown(measured.first_p50),
        shown(measured.first_p99),
        shown(measured.end_p50),
        shown(measured.end_p99),
    );
}

fn shown(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// A steady load for a while: what memory the gateway has, every ten seconds.
async fn soaked(time: Duration, rate: usize) -> Result<(), Failure> {
    let server = Process::start(&["--be", "scripted"])?;
    let gateway = Process::start(&["--be", "gateway", "--upstream", &server.address.to_string()])?;
    let started = Instant::now();
    println!("| after | requests | end p99 | memory | open files | threads |");
    println!("|--:|--:|--:|--:|--:|--:|");
    let mut requests = 0;
    while started.elapsed() < time {
        let stretch = SOAKED.min(time.saturating_sub(started.elapsed())).as_secs().max(1);
        let number = rate * usize::try_from(stretch)?;
        let measured = client::load(gateway.address, Load::PerSecond(rate), number).await?;
        requests += measured.number;
        let count =
            |number: Option<usize>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
        println!(
            "| {} s | {requests} | {} | {} KiB | {} | {} |",
            started.elapsed().as_secs(),
            shown(measured.end_p99),
            count(gateway.resident()),
            count(gateway.open_files()),
            count(gateway.threads()),
        );
    }
    Ok(())
}
