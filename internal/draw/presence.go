// SPDX-License-Identifier: Apache-2.0

package draw

// presence says how many of the chunks of a block are stored.
type presence int

const (
	noneStored presence = iota // none, or unknown because Stored is nil
	someStored
	allStored
	notLookedUp
)
