// SPDX-License-Identifier: Apache-2.0

// Package values reads and writes every data type by every Go type.
package values
