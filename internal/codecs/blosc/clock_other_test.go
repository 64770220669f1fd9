// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package blosc

import "time"

var start = time.Now()

func threadTime() time.Duration { return time.Since(start) }
