//! `loadgen list`: what can be measured here.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;

use super::{EXIT_OK, compare};
use crate::experiment::contender::Places;
use crate::experiment::{host, prepare};
use crate::report::compare::minutes;
use crate::report::units::counted;
use crate::scenario::{Contender, Scenario, Suite, Workers};

/// Arguments of `loadgen list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scenarios and contenders to use instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Text for people, JSON for programs
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What there is.
#[derive(Debug, Serialize)]
struct Listing {
    profiles: Vec<ListedProfile>,
    scenarios: Vec<ListedScenario>,
    contenders: Vec<ListedContender>,
}

#[derive(Debug, Serialize)]
struct ListedProfile {
    name: String,
    /// Scenario × contender × connections.
    cells: usize,
    trials: u32,
    /// An estimate, s.
    duration_s: u64,
}

#[derive(Debug, Serialize)]
struct ListedScenario {
    name: String,
    request: String,
    contenders: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ListedContender {
    name: String,
    scenarios: Vec<String>,
    multi_core: bool,
    installed: bool,
    /// What is missing and how to get it; nothing where it is installed.
    missing: Option<String>,
    version: Option<String>,
}

/// Prints the list.
///
/// # Errors
/// The suite cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    use std::io::Write as _;
    let mut places = prepare::folders();
    let suite = Suite::load(args.config.as_deref(), &places.data)?;
    let all: Vec<&Contender> = suite.contenders.iter().collect();
    let wanted = prepare::runtimes_needed(&all);
    places.runtime_binaries = prepare::runtimes(&places.runtimes, &wanted, false).binaries;
    let played = suite.contenders.iter().flat_map(|contender| {
        contender.scenarios.iter().map(move |scenario| (contender, scenario.as_str()))
    });
    let programs = prepare::programs_needed(&suite, played);
    places.programs = prepare::built_programs(&places.workspace, &programs);
    let listing = Listing {
        profiles: suite.profiles.keys().filter_map(|name| list_profile(&suite, name)).collect(),
        scenarios: suite.scenarios.iter().map(|scenario| list_scenario(&suite, scenario)).collect(),
        contenders: suite.contenders.iter().map(|c| list_contender(&suite, &places, c)).collect(),
    };
    let text = match args.format {
        Format::Text => text(&listing),
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&listing)?),
    };
    // A reader that went away (`| head`) has seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::from(EXIT_OK))
}

/// A profile to which something belongs.
fn list_profile(suite: &Suite, name: &str) -> Option<ListedProfile> {
    let outlook = compare::outlook(suite, name).ok()?;
    Some(ListedProfile {
        name: name.to_owned(),
        cells: outlook.cells,
        trials: outlook.trials,
        duration_s: outlook.time.as_secs(),
    })
}

fn list_scenario(suite: &Suite, scenario: &Scenario) -> ListedScenario {
    let plays = |contender: &&Contender| contender.scenarios.contains(&scenario.name);
    ListedScenario {
        name: scenario.name.clone(),
        request: match scenario.uploaded_bytes() {
            Some(bytes) => format!("client: uploads a file of {bytes} bytes"),
            None => {
                let (method, scheme) = (&scenario.method, scenario.scheme());
                format!("{method} {scheme}://{{address}}{}", scenario.path)
            }
        },
        contenders: suite.contenders.iter().filter(plays).map(|c| c.name.clone()).collect(),
    }
}

fn list_contender(suite: &Suite, places: &Places, contender: &Contender) -> ListedContender {
    let missing = contender
        .scenarios
        .iter()
        .filter_map(|name| suite.scenario(name))
        .find_map(|scenario| missing(places, contender, scenario));
    let scenario = contender.scenarios.first().map_or("", String::as_str);
    let command = places.version_command(contender, scenario).filter(|_| missing.is_none());
    ListedContender {
        name: contender.name.clone(),
        scenarios: contender.scenarios.clone(),
        multi_core: contender.workers != Workers::One,
        installed: missing.is_none(),
        version: command.and_then(|command| host::version(&command)),
        missing,
    }
}

/// What a contender lacks in a scenario, and how to get it.
fn missing(places: &Places, contender: &Contender, scenario: &Scenario) -> Option<String> {
    match places.command_line(contender, scenario, 1) {
        Ok(line) => {
            (!is_program(&line.argv[0])).then(|| format!("there is no program {}", line.argv[0]))
        }
        Err(program) if ["server-", "client-"].iter().any(|kind| program.starts_with(kind)) => {
            Some(format!("{program} is not built yet; `loadgen compare` builds it"))
        }
        Err(runtime) => {
            Some(format!("{runtime} is not installed yet; `loadgen compare` fetches it with npm"))
        }
    }
}

/// Whether this would be found: a path, or a name in one of the folders of `PATH`.
fn is_program(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn text(listing: &Listing) -> String {
    let mut text = String::from("Profiles\n");
    let width = |names: &mut dyn Iterator<Item = &String>| {
        names.map(|name| name.chars().count()).max().unwrap_or(0)
    };
    let name_width = width(&mut listing.profiles.iter().map(|profile| &profile.name));
    for ListedProfile { name, cells, trials, duration_s } in &listing.profiles {
        let time = minutes(Duration::from_secs(*duration_s));
        let trials = counted((*trials).into(), "trial");
        let _ =
            writeln!(text, "  {name:name_width$}  {cells} cells, {trials} of each: about {time}");
    }
    text.push_str("\nScenarios\n");
    let name_width = width(&mut listing.scenarios.iter().map(|scenario| &scenario.name));
    let request_width = width(&mut listing.scenarios.iter().map(|scenario| &scenario.request));
    for ListedScenario { name, request, contenders } in &listing.scenarios {
        let contenders = contenders.join(", ");
        let _ = writeln!(text, "  {name:name_width$}  {request:request_width$}  {contenders}");
    }
    text.push_str("\nContenders\n");
    let name_width = width(&mut listing.contenders.iter().map(|contender| &contender.name));
    for contender in &listing.contenders {
        let state = match (&contender.missing, &contender.version) {
            (Some(missing), _) => format!("not installed: {missing}"),
            (None, Some(version)) => version.clone(),
            (None, None) => "installed; it tells no version".to_owned(),
        };
        let name = &contender.name;
        let _ =
            writeln!(text, "  {name:name_width$}  {state}  ({})", contender.scenarios.join(", "));
    }
    text
}
