// SPDX-License-Identifier: Apache-2.0

// Package progress draws the line of progress of a long task on the terminal.
package progress
