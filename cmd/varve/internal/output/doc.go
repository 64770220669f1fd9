// SPDX-License-Identifier: Apache-2.0

// Package output writes JSON documents, and other output, to standard output.
//
// [WriteJSON] writes a struct member by member, so a document may be longer than memory.
// [Withheld] holds output back until it is complete. Characters that could take over a
// terminal are escaped.
package output
