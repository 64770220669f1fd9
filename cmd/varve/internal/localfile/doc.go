// SPDX-License-Identifier: Apache-2.0

// Package localfile reads and writes the files that the command is given besides nodes:
// streams that may never end, outputs that appear as a whole, and temporary files.
package localfile
