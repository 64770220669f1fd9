// SPDX-License-Identifier: Apache-2.0

// Package phrase writes numbers, sizes, shapes and names as people read them, and breaks
// text into lines. Messages, tables and help share it.
package phrase
