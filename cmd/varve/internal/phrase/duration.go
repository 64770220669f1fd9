// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"fmt"
	"strings"
	"time"
)

// Duration returns a duration without units that are zero, such as 90s as 1m30s, 24h or
// 10ms. Two days and more are in days: 7d or 2d12h.
func Duration(d time.Duration) string {
	text := ""
	if d >= 48*time.Hour {
		days := d / (24 * time.Hour)
		if d -= days * 24 * time.Hour; d == 0 {
			return fmt.Sprintf("%dd", days)
		}
		text = fmt.Sprintf("%dd", days)
	}
	rest := d.String()
	if strings.HasSuffix(rest, "m0s") {
		rest = strings.TrimSuffix(rest, "0s")
	}
	if strings.HasSuffix(rest, "h0m") {
		rest = strings.TrimSuffix(rest, "0m")
	}
	return text + strings.TrimPrefix(strings.TrimPrefix(rest, "0h"), "0m")
}
