// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package clock

import "time"

func threadTime() time.Duration { return time.Since(start) }
