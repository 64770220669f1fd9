// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package localfile

// FreeBytes returns false: the room for a directory is unknown.
func FreeBytes(string) (int64, bool) { return 0, false }
