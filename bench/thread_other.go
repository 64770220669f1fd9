// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "time"

var started = time.Now()

// threadTime returns the time of the clock, where that of a thread is unknown.
func threadTime() time.Duration { return time.Since(started) }
