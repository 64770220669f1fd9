// SPDX-License-Identifier: Apache-2.0

// Package parquet reads and writes files of Apache Parquet as tables of package columnar.
package parquet
