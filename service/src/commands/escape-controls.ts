export { escapeControls, escapeLines, toJsonLine } from '@orgdir/client/command/escape-controls';
