// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 || purego

package byteorder

// There is no assembly here.
func (p *plane) fast() bool { return false }

func bytesFast(_, _ []byte, _ int) int { return 0 }
