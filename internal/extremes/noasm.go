// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 || purego

package extremes

// Scan scans nothing: there is no assembly here.
func (n *Numbers) Scan([]byte) (f Found, done int) { return f, 0 }
