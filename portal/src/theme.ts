/**
 * The tokens of the service (service/src/http/site/tokens.css, which the page has inline) as Mantine's theme. Contrast is
 * at least 4.5 to 1 on every screen, light and dark: the tests measure it.
 */
import {
  Alert,
  Anchor,
  Button,
  createTheme,
  DEFAULT_THEME,
  defaultVariantColorsResolver,
  Modal,
  type CSSVariablesResolver,
  type MantineColorsTuple,
} from '@mantine/core';

const { green, orange, gray, dark } = DEFAULT_THEME.colors;
/** Replaces shades of a colour by their place, from 0 to 9. */
const withShades = (color: MantineColorsTuple, shades: Record<number, string>) =>
  color.map((shade, at) => shades[at] ?? shade) as unknown as MantineColorsTuple;

/** The brand's own colour may be too light or too dark for text: that is `--link`. */
const brand = Array<string>(10).fill('var(--link)') as unknown as MantineColorsTuple;
const filledShade = 8;

export const theme = createTheme({
  primaryColor: 'brand',
  colors: {
    brand: withShades(brand, {
      1: 'var(--tint)',
      2: 'var(--tint)',
      [filledShade]: 'var(--brand)',
      9: 'var(--brand-hover)',
    }),
    gray: withShades(gray, { 3: 'var(--line)' }),
    dark: withShades(dark, {
      0: 'var(--text)',
      1: 'var(--soft)',
      4: '#3d4149',
      5: 'var(--line)',
      6: 'var(--raised)',
      7: 'var(--ground)',
      8: '#0e0f12',
    }),
    // To make white text readable on them.
    green: withShades(green, { 9: '#247a36' }),
    orange: withShades(orange, { 9: '#b83c0b' }),
  },
  primaryShade: { light: filledShade, dark: filledShade },
  variantColorResolver: (input) => ({
    ...defaultVariantColorsResolver(input),
    ...(input.variant === 'filled' &&
      (input.color ?? 'brand') === 'brand' && {
        background: 'var(--brand)',
        hover: 'var(--brand-hover)',
        color: 'var(--on-brand)',
      }),
  }),
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  focusRing: 'auto',
  fontFamily: 'var(--font)',
  fontFamilyMonospace: 'var(--mono)',
  headings: { fontWeight: '650' },
  components: {
    // Colour alone does not distinguish a link from text around it.
    Anchor: Anchor.extend({ defaultProps: { underline: 'always' } }),
    // Without a variant it would not ask `variantColorResolver`.
    Button: Button.extend({ defaultProps: { variant: 'filled' } }),
    // By name: the first screen loads none of the three.
    Checkbox: { defaultProps: { iconColor: 'var(--ground)' } },
    Radio: { defaultProps: { iconColor: 'var(--ground)' } },
    Pagination: { vars: () => ({ root: { '--pagination-active-color': 'var(--ground)' } }) },
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

/** What Mantine derives from the shades by rules of its own. */
const derived = {
  '--mantine-color-text': 'var(--text)',
  '--mantine-color-body': 'var(--ground)',
  '--mantine-color-dimmed': 'var(--soft)',
  '--mantine-color-anchor': 'var(--link)',
  // Of focus rings and of what is checked, which stand on the ground.
  '--mantine-primary-color-filled': 'var(--link)',
  '--mantine-primary-color-contrast': 'var(--ground)',
  '--mantine-color-brand-text': 'var(--link)',
  '--mantine-color-brand-light': 'var(--tint)',
  '--mantine-color-brand-light-hover': 'var(--tint)',
  '--mantine-color-brand-light-color': 'var(--link)',
  '--mantine-color-brand-outline': 'var(--link)',
};

/** Mantine's dimmed and light colours have slightly too little contrast. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    ...derived,
    '--mantine-color-placeholder': 'var(--mantine-color-gray-6)',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
  },
  dark: { ...derived, '--mantine-color-error': 'var(--mantine-color-red-4)' },
});
