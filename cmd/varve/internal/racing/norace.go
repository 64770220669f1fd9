// SPDX-License-Identifier: Apache-2.0

//go:build !race

package racing

// Detector reports whether the race detector is enabled.
const Detector = false
