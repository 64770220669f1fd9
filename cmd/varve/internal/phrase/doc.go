// SPDX-License-Identifier: Apache-2.0

// Package phrase formats numbers, sizes, shapes and names for people, and breaks text
// into lines. Messages, tables and help share it.
package phrase
