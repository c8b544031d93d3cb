//! Time series as Parquet.

use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::data_type::DoubleType;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::io::Write;
use std::sync::Arc;
use windlass_sim::series::columns::{Column, Table};

/// Writes a series as one row group of 64-bit floats, with nulls where a value is not known.
pub(super) fn write(file: impl Write + Send, table: &Table) -> Result<(), ParquetError> {
    let fields = table.columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("series").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &table.columns {
        let Some(mut out) = group.next_column()? else { break };
        if column.nullable {
            // Definition levels: 1 for a value, 0 for null.
            let levels: Vec<i16> = column.values.iter().map(|v| i16::from(!v.is_nan())).collect();
            let known: Vec<f64> = column.values.iter().copied().filter(|v| !v.is_nan()).collect();
            out.typed::<DoubleType>().write_batch(&known, Some(&levels), None)?;
        } else {
            out.typed::<DoubleType>().write_batch(&column.values, None, None)?;
        }
        out.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(column.name, Physical::DOUBLE);
    builder.with_repetition(repetition).build().map(Arc::new)
}
