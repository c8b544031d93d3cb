//! The report as one page of HTML, which loads nothing.

use super::plot::Plot;
use super::{CellReport, Counts, CriterionText, FigureReport, PathText, Report, SettingText};
use crate::verdict::Verdict;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Error};
use serde::Serialize;

const TEMPLATE: &str = include_str!("report.html");

/// The template's values.
#[derive(Serialize)]
struct Page<'a> {
    report: &'a Report,
    /// By subject and criterion.
    overview: Vec<Vec<Counts>>,
    /// The criteria that have cells on paths.
    tested: Vec<&'a CriterionText>,
    rows: Vec<Row<'a>>,
    /// The cells of the others.
    text: Vec<&'a CellReport>,
}

/// A path with its cells: a row of each matrix, and a section of the details.
#[derive(Serialize)]
struct Row<'a> {
    section: &'a str,
    title: &'a str,
    path: &'a PathText,
    cells: Vec<Cell<'a>>,
}

#[derive(Serialize)]
struct Cell<'a> {
    id: String,
    criterion: &'a CriterionText,
    verdicts: &'a [Verdict],
    reason: Option<&'a str>,
    traffics: Vec<Traffic<'a>>,
}

#[derive(Serialize)]
struct Traffic<'a> {
    name: &'static str,
    about: &'static str,
    scenario: &'a str,
    figures: Vec<Figure<'a>>,
}

#[derive(Serialize)]
struct Figure<'a> {
    #[serde(flatten)]
    figure: &'a FigureReport,
    plot: Plot,
}

impl Report {
    /// The report as a page of HTML, which contains all that it shows.
    ///
    /// # Errors
    ///
    /// The template cannot be filled in, which is a mistake of this crate.
    pub fn html(&self) -> Result<String, Error> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
        environment.set_syntax(syntax);
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.add_filter("short", short);
        environment.add_filter("class", |words: String| words.replace(' ', "-"));
        environment.add_template("report", TEMPLATE)?;
        environment.get_template("report")?.render(Serde(self.page()))
    }

    fn page(&self) -> Page<'_> {
        let tested = self.criteria.iter().filter(|criterion| self.is_tested(criterion));
        Page {
            report: self,
            overview: self.overview(),
            tested: tested.collect(),
            rows: self.settings.iter().flat_map(|setting| self.rows(setting)).collect(),
            text: self.cells.iter().filter(|cell| cell.setting.is_empty()).collect(),
        }
    }

    fn is_tested(&self, criterion: &CriterionText) -> bool {
        let mut cells = self.cells.iter().filter(|cell| cell.criterion == criterion.name);
        cells.any(|cell| !cell.setting.is_empty())
    }

    fn overview(&self) -> Vec<Vec<Counts>> {
        let of = |subject: usize, criterion: &str| {
            let cells = self.cells.iter().filter(|cell| cell.criterion == criterion);
            Counts::of(cells.map(|cell| cell.verdicts[subject]))
        };
        let row = |subject| self.criteria.iter().map(|text| of(subject, text.name)).collect();
        (0..self.subjects.len()).map(row).collect()
    }

    fn rows<'a>(&'a self, setting: &'a SettingText) -> impl Iterator<Item = Row<'a>> {
        setting.paths.iter().map(|path| {
            let here = |cell: &&CellReport| cell.setting == setting.name && cell.path == path.name;
            Row {
                section: &setting.section,
                title: &setting.title,
                path,
                cells: self.cells.iter().filter(here).filter_map(|cell| self.cell(cell)).collect(),
            }
        })
    }

    fn cell<'a>(&'a self, cell: &'a CellReport) -> Option<Cell<'a>> {
        let criterion = self.criteria.iter().find(|criterion| criterion.name == cell.criterion)?;
        let traffics = cell.traffics.iter().map(|traffic| Traffic {
            name: traffic.name,
            about: traffic.about,
            scenario: &traffic.scenario,
            figures: traffic.figures.iter().map(figure).collect(),
        });
        Some(Cell {
            id: format!("{}-{}", cell.criterion, cell.path),
            criterion,
            verdicts: &cell.verdicts,
            reason: cell.reason.as_deref(),
            traffics: traffics.collect(),
        })
    }
}

fn figure(figure: &FigureReport) -> Figure<'_> {
    Figure { figure, plot: Plot::new(figure) }
}

/// A number with three significant digits; a large one is whole, a small one has four decimals.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        size if size >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
