// SPDX-License-Identifier: Apache-2.0

// Package values tests reading and writing every data type with every Go type.
package values
