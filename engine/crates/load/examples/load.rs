//! Runs a job by itself: `cargo run --release --example load -- JOB.json OUT`.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [job, out] = arguments.as_slice() else {
        eprintln!("usage: load JOB.json OUT");
        return ExitCode::from(2);
    };
    match patternbench_load::command(job, out, std::io::stdout()) {
        Ok(summary) => println!("{summary}"),
        Err(error) => {
            println!("{}", error.to_json());
            return ExitCode::from(error.exit_code());
        }
    }
    ExitCode::SUCCESS
}
