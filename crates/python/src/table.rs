//! Time series as Arrow, by the PyCapsule interface (`__arrow_c_stream__`).

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;
use windlass_sim::series::columns::{Column, Table as Columns};

/// One time series. Its memory is shared with those who import it.
#[pyclass(frozen, module = "windlass_lab._native")]
pub(crate) struct Table {
    #[pyo3(get)]
    name: String,
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn new(table: Columns) -> Table {
        let fields: Vec<_> = table
            .columns
            .iter()
            .map(|column| Field::new(column.name, DataType::Float64, column.nullable))
            .collect();
        let arrays = table.columns.into_iter().map(array).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        Table { name: table.name, batch: batch.expect("columns of equal length, of this type") }
    }
}

/// The column's own memory as an array.
fn array(column: Column) -> ArrayRef {
    let nulls = column.nullable.then(|| {
        let known = column.values.iter().map(|value| !value.is_nan());
        known.collect::<NullBuffer>()
    });
    Arc::new(Float64Array::new(ScalarBuffer::from(column.values), nulls))
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The table as an Arrow stream of one batch. All columns are of 64-bit floats, so another
    /// schema cannot be asked for.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
