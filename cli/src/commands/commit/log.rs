//! `commit log`.

use clap::Args;
use omnigraph_engine::Access;
use omnigraph_engine::model::branch::MAIN;

use crate::address::Words;
use crate::args::{PlaceArgs, ScopeArgs};
use crate::context::Context;
use crate::failure::Result;
use crate::output::colour::Paint;
use crate::output::log::{self, Names};
use crate::output::{self, shape};

/// Show the history of a branch, newest first: its own commits with their parents, or drawn with lines, all ancestors
/// of its head.
#[derive(Debug, Args)]
#[command(
    override_usage = "omnigraph commit log TARGET [--graph] [OPTIONS]\n       omnigraph commit log --server URL --graph ID [--graph] [OPTIONS]"
)]
pub(crate) struct Log {
    /// Path or URI of the graph, unless named otherwise
    #[arg(value_name = "TARGET")]
    words: Vec<String>,
    /// The branch
    #[arg(long, value_name = "NAME", default_value = MAIN)]
    branch: String,
    /// Commits at most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Without an ID: show all ancestors, those that merges brought in among them, and draw how they descend from each
    /// other. With one: the graph on the server or in the cluster. Both may be given
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    graph: Vec<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl Log {
    pub(crate) async fn run(self, context: &Context) -> Result<()> {
        let (draw, graph) = told_apart(self.graph);
        let scope = ScopeArgs { graph, place: self.place };
        let (target, _) = context.target(&scope, self.words, &Words::NONE, Access::ReadOnly).await?;
        let commits = target.commits(&self.branch, self.limit, draw).await?;
        let names = match draw && !context.json {
            true => Names::new(&target.branches().await?, &target.tags().await?),
            false => Names::default(),
        };
        let json = || commits.iter().map(shape::commit).collect();
        let text = || match draw {
            true => log::graph(&commits, &names, Paint::stdout()),
            false => log::commits(&commits),
        };
        output::answer(context, json, text)
    }
}

/// Whether one of the flags has no id, and the id of the others.
fn told_apart(flags: Vec<String>) -> (bool, Option<String>) {
    let draw = flags.iter().any(String::is_empty);
    (draw, flags.into_iter().find(|id| !id.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(Debug, clap::Parser)]
    struct Alone {
        #[command(flatten)]
        log: Log,
    }

    #[test]
    fn one_flag_draws_and_names_the_graph() {
        let read = |words: &str| told_apart(Alone::try_parse_from(words.split_whitespace()).unwrap().log.graph);
        let social = Some("social".to_string());
        assert_eq!(read("log g"), (false, None));
        assert_eq!(read("log g --graph"), (true, None));
        assert_eq!(read("log g --graph -n 3"), (true, None));
        assert_eq!(read("log --server http://h:1 --graph social"), (false, social.clone()));
        assert_eq!(read("log --server http://h:1 --graph social --graph"), (true, social.clone()));
        assert_eq!(read("log --graph --server http://h:1 --graph=social"), (true, social));
    }
}
