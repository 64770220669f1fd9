// SPDX-License-Identifier: Apache-2.0

// Package golden reads and writes arrays of other programs, and damages them.
package golden
