//! What the open graphs take, as samples. Opens no graph.

use futures::StreamExt;
use omnigraph_engine::Graph;
use omnigraph_engine::maintenance::stats::{GraphStats, StatsOptions, TableSpace};
use tokio_util::task::AbortOnDropHandle;

use super::text::{Kind, Page};
use crate::limits::{LOOKS_AT_ONCE, MAX_METRIC_TABLES};
use crate::state::State;

/// A graph, and what it takes if that could be found out.
#[derive(Clone, Debug)]
pub struct Looked {
    id: String,
    stats: Option<GraphStats>,
}

/// Measures every graph that is open, by id.
pub async fn look(state: &State) -> Vec<Looked> {
    let graphs = futures::stream::iter(state.ready());
    graphs.map(|(id, graph)| measure(id, graph)).buffered(LOOKS_AT_ONCE).collect().await
}

async fn measure(id: String, graph: Graph) -> Looked {
    // On a task of its own, so that a graph that breaks the engine costs the others nothing.
    let measuring = tokio::spawn(async move { graph.stats(&StatsOptions::default()).await });
    let stats = match AbortOnDropHandle::new(measuring).await {
        Ok(Ok(stats)) => Some(stats),
        Ok(Err(error)) => {
            tracing::warn!(graph = id, reason = %error.reason(), %error, "a graph could not be measured");
            None
        }
        Err(error) => {
            tracing::error!(graph = id, %error, "measuring a graph broke down");
            None
        }
    };
    Looked { id, stats }
}

/// A number of a table: the metric's name, what it is, and where it comes from.
type Number<T> = (&'static str, &'static str, fn(&T) -> u64);

const TABLE: [Number<TableSpace>; 10] = [
    ("omnigraph_table_rows", "Rows at the branch's head.", |t| t.rows),
    ("omnigraph_table_versions", "Versions on the branch's own line.", |t| t.versions),
    ("omnigraph_table_fragments", "Fragments at the branch's head.", |t| t.fragments),
    ("omnigraph_table_files", "Files on the branch's own line.", |t| t.files),
    ("omnigraph_table_bytes_live", "Bytes of the branch's own files that its head needs.", |t| t.bytes_live),
    ("omnigraph_table_bytes_inherited", "Bytes that the head refers to on other branches' lines.", |t| {
        t.bytes_inherited
    }),
    ("omnigraph_table_bytes_history", "Bytes of the branch's own files that its head does not need.", |t| {
        t.bytes_history
    }),
    ("omnigraph_table_indexes_declared", "Indexes that should exist.", |t| t.indexes_declared),
    ("omnigraph_table_indexes_present", "Declared indexes that exist.", |t| t.indexes_present),
    ("omnigraph_table_index_rows_uncovered", "Rows that declared indexes do not cover.", |t| t.index_rows_uncovered),
];

const GRAPH: [Number<GraphStats>; 7] = [
    ("omnigraph_graph_files", "Files below the graph's root.", |g| g.totals.files),
    ("omnigraph_graph_bytes", "Bytes below the graph's root.", |g| g.totals.bytes),
    ("omnigraph_graph_orphaned_files", "Files that belong to no live branch.", |g| g.totals.orphaned_files),
    ("omnigraph_graph_orphaned_bytes", "Bytes that belong to no live branch.", |g| g.totals.orphaned_bytes),
    ("omnigraph_graph_branches_live", "Live branches.", |g| g.branches_live),
    ("omnigraph_graph_intents_pending", "Operations under way or interrupted.", |g| g.intents_pending),
    ("omnigraph_graph_leases", "Leases of long reads.", |g| g.leases),
];

/// The samples as text.
pub fn show(graphs: &[Looked]) -> String {
    let mut page = Page::default();
    page.family("omnigraph_graph_measured", Kind::Gauge, "Whether the last look at the graph worked.");
    for graph in graphs {
        page.sample("omnigraph_graph_measured", &[("graph", graph.id.as_str())], u8::from(graph.stats.is_some()));
    }
    let measured: Vec<(&str, &GraphStats)> =
        graphs.iter().filter_map(|graph| Some((graph.id.as_str(), graph.stats.as_ref()?))).collect();
    for (name, help, number) in GRAPH {
        page.family(name, Kind::Gauge, help);
        for (id, stats) in &measured {
            page.sample(name, &[("graph", *id)], number(stats));
        }
    }
    let recoveries = "omnigraph_recoveries_total";
    page.family(recoveries, Kind::Counter, "Entries of the recovery log.");
    for (id, stats) in &measured {
        page.sample(recoveries, &[("graph", *id)], stats.recovery_log.as_ref().map_or(0, |log| log.rows));
    }
    let all: Vec<(&str, &TableSpace)> = measured
        .iter()
        .flat_map(|(id, stats)| {
            let own = stats.manifests.iter().chain(&stats.recovery_log);
            own.chain(&stats.tables).map(move |table| (*id, table))
        })
        .collect();
    let shown = all.get(..MAX_METRIC_TABLES).unwrap_or(&all);
    let left_out = "omnigraph_tables_left_out";
    page.family(left_out, Kind::Gauge, "Tables of branches that there is no room for here.");
    page.sample(left_out, &[], all.len().saturating_sub(shown.len()));
    for (name, help, number) in TABLE {
        page.family(name, Kind::Gauge, help);
        for (id, table) in shown {
            let labels = [("graph", *id), ("table", table.table_key.as_str()), ("branch", table.branch.as_str())];
            page.sample(name, &labels, number(table));
        }
    }
    page.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(key: &str, branch: &str, rows: u64) -> TableSpace {
        TableSpace {
            table_key: key.into(),
            branch: branch.into(),
            rows,
            bytes_history: rows + 1,
            ..TableSpace::default()
        }
    }

    #[test]
    fn graphs_tables_and_branches_are_labels() {
        let stats = GraphStats {
            tables: vec![space("node:P", "main", 7), space("node:P", "a\"b\\c", 9)],
            manifests: vec![space("__manifest", "main", 3)],
            recovery_log: Some(space("log", "", 2)),
            branches_live: 2,
            ..GraphStats::default()
        };
        let graphs = [Looked { id: "g".into(), stats: Some(stats) }, Looked { id: "broken".into(), stats: None }];
        let text = show(&graphs);
        for line in [
            "omnigraph_graph_measured{graph=\"g\"} 1",
            "omnigraph_graph_measured{graph=\"broken\"} 0",
            "omnigraph_graph_branches_live{graph=\"g\"} 2",
            "omnigraph_recoveries_total{graph=\"g\"} 2",
            "omnigraph_tables_left_out 0",
            "omnigraph_table_rows{graph=\"g\",table=\"node:P\",branch=\"main\"} 7",
            "omnigraph_table_rows{graph=\"g\",table=\"node:P\",branch=\"a\\\"b\\\\c\"} 9",
            "omnigraph_table_bytes_history{graph=\"g\",table=\"__manifest\",branch=\"main\"} 4",
            "omnigraph_table_rows{graph=\"g\",table=\"log\",branch=\"\"} 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
        assert!(!text.contains("graph_bytes{graph=\"broken\"}"), "{text}");
    }

    #[test]
    fn there_is_an_end_to_what_is_shown() {
        let tables = (0..MAX_METRIC_TABLES + 5).map(|n| space("node:P", &format!("b{n}"), 1)).collect();
        let stats = GraphStats { tables, ..GraphStats::default() };
        let text = show(&[Looked { id: "g".into(), stats: Some(stats) }]);
        assert!(text.contains("omnigraph_tables_left_out 5\n"));
        let rows = text.lines().filter(|l| l.starts_with("omnigraph_table_rows{")).count();
        assert_eq!(rows, MAX_METRIC_TABLES);
    }
}
