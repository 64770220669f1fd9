// SPDX-License-Identifier: Apache-2.0

// Package growth appends, resizes, reserves and streams, and counts what that reads and
// writes.
package growth
