// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

// advise does nothing: the system has no such advice.
func advise([]byte) {}
