import { Anchor, type AnchorProps } from '@mantine/core';
import { Link, type LinkProps } from 'react-router';

/**
 * A link to another page of the portal, in the font of the text around it unless it has a size. A name has the direction
 * of its script.
 */
export function PageLink(props: AnchorProps & LinkProps) {
  return <Anchor component={Link} dir="auto" inherit={props.size === undefined} {...props} />;
}
