// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

// processor returns 0: the processor time is not known.
func processor() float64 { return 0 }
