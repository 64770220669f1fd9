// SPDX-License-Identifier: Apache-2.0

// Package console is the terminal of the command: its streams, the line of progress, the
// styles of text, and signals.
package console
