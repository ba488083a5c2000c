/** Colours and shapes. Contrast is at least 4.5 to 1 on every screen, light and dark: the tests measure it. */
import {
  Alert,
  Anchor,
  createTheme,
  DEFAULT_THEME,
  Modal,
  type CSSVariablesResolver,
  type MantineColorsTuple,
} from '@mantine/core';

const { green, orange } = DEFAULT_THEME.colors;
/** Replaces the darkest shade, to make white text readable on it. */
const darkest = (color: MantineColorsTuple, shade: string) =>
  [...color.slice(0, -1), shade] as unknown as MantineColorsTuple;

export const theme = createTheme({
  primaryColor: 'indigo',
  colors: { green: darkest(green, '#247a36'), orange: darkest(orange, '#b83c0b') },
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  focusRing: 'auto',
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace',
  headings: { fontWeight: '650' },
  components: {
    // Colour alone does not distinguish a link from text around it.
    Anchor: Anchor.extend({ defaultProps: { underline: 'always' } }),
    Modal: Modal.extend({
      defaultProps: { centered: true, closeButtonProps: { 'aria-label': 'Close' } },
    }),
    // A `header` element would count as a second page header.
    ModalHeader: { defaultProps: { component: 'div' } },
    // Yellow and orange titles have too little contrast.
    // Static advice must not interrupt screen readers: only `Problem` sets `role="alert"`.
    Alert: Alert.extend({
      defaultProps: { role: 'note', variant: 'outline' },
      styles: { title: { color: 'var(--mantine-color-text)' } },
    }),
  },
});

/** Mantine's dimmed and light colours have slightly too little contrast. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': 'var(--mantine-color-gray-7)',
    '--mantine-color-placeholder': 'var(--mantine-color-gray-6)',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
    '--mantine-color-anchor': 'var(--mantine-color-indigo-8)',
  },
  dark: {
    '--mantine-color-dimmed': 'var(--mantine-color-dark-1)',
    '--mantine-color-error': 'var(--mantine-color-red-4)',
    '--mantine-color-anchor': 'var(--mantine-color-indigo-3)',
  },
});
