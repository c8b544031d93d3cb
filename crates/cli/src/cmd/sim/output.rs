//! The files of a run: CSV as it goes on, or Parquet at its end.

use super::parquet;
use crate::failure::Failure;
use std::fs::File;
use std::io;
use std::path::Path;
use windlass_sim::Scenario;
use windlass_sim::series::columns::ColumnSeries;
use windlass_sim::series::csv::CsvSeries;
use windlass_sim::series::endpoints::EndpointSeries;

/// Where a run writes, and what beside time series of flows.
#[derive(Copy, Clone)]
pub(super) struct Output<'a> {
    pub(super) folder: &'a Path,
    pub(super) queues: bool,
    pub(super) parquet: bool,
    pub(super) pcap: bool,
    pub(super) qlog: bool,
}

/// The time series of TCP flows and queues, and those of other transports.
pub(super) type Csv = (CsvSeries<File>, EndpointSeries<File>);

/// Opens the CSV files of a run.
pub(super) fn csv_series(scenario: &Scenario, output: Output<'_>) -> Result<Csv, Failure> {
    let open = |name: &str| create(output.folder, name, "csv");
    let series = match output.queues {
        true => CsvSeries::new(scenario, open),
        false => CsvSeries::of_flows(scenario, open),
    };
    let endpoints = EndpointSeries::new(scenario, output.queues, open);
    Ok((series.map_err(failure)?, endpoints.map_err(failure)?))
}

/// Writes the last lines.
pub(super) fn finish_csv((series, endpoints): Csv) -> Result<(), Failure> {
    series.finish().and_then(|()| endpoints.finish()).map_err(failure)
}

/// The time series in memory.
pub(super) fn column_series(scenario: &Scenario, output: Output<'_>) -> ColumnSeries {
    ColumnSeries::in_memory(scenario, output.queues)
}

/// Writes the time series as Parquet.
pub(super) fn write_parquet(output: Output<'_>, series: ColumnSeries) -> Result<(), Failure> {
    for table in series.into_tables() {
        let file = create(output.folder, &table.name, "parquet").map_err(failure)?;
        parquet::write(file, &table).map_err(|error| failure(io::Error::other(error)))?;
    }
    Ok(())
}

/// The error of a file that cannot be written.
pub(super) fn failure(error: io::Error) -> Failure {
    Failure::io("writing the results", &error)
}

/// Creates a file of a run, which must be new.
pub(super) fn create(folder: &Path, name: &str, extension: &str) -> io::Result<File> {
    let path = folder.join(format!("{name}.{extension}"));
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
    File::create_new(path).map_err(named)
}
