//go:build !linux

package clock

import "time"

func now() time.Duration { return time.Since(start) }
