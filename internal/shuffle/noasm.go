// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 || purego

package shuffle

// There is no assembly here, so the plain code handles all elements.

func shuffleFast(_, _ []byte, _, _ int) int       { return 0 }
func unshuffleFast(_, _ []byte, _, _ int) int     { return 0 }
func splitBitsFast(_ []byte, _ int, _ []byte) int { return 0 }
func joinBitsFast(_, _ []byte, _ int) int         { return 0 }
