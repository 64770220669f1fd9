// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package protocol

// processor is not implemented here.
func processor() float64 { return 0 }
