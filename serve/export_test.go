// SPDX-License-Identifier: Apache-2.0

package serve

import "time"

// Looking returns the options with another time between two looks for changes.
func (o Options) Looking(interval time.Duration) *Options {
	o.interval = interval
	return &o
}

// Ending returns the options with another time that a request may take.
func (o Options) Ending(most time.Duration) *Options {
	o.most = most
	return &o
}
