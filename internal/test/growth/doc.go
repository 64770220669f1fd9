// SPDX-License-Identifier: Apache-2.0

// Package growth tests appends, resizes, reservations and streams, and counts their
// requests.
package growth
