// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package localfile

// FreeBytes returns false, because the free space is unknown on this system.
func FreeBytes(string) (int64, bool) { return 0, false }
