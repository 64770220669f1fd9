// SPDX-License-Identifier: Apache-2.0

// Package localfile reads and writes files other than nodes: streams that may never
// end, outputs that appear atomically, and temporary files.
package localfile
